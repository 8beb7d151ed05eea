// The package as a module.
import tamis from './index.cjs'

export const {
  FilterStream,
  Manifest,
  OutputFilters,
  Program,
  PushStream,
  TamisError,
  TextProgram,
  filterOutput,
  filterOutputWithReport,
  prune,
  pruneWithReport,
  restore,
  version,
} = tamis
