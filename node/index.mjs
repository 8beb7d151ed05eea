// The package as a module.
import tamis from './index.cjs'

export const {
  FilterStream,
  Manifest,
  Program,
  PushStream,
  TamisError,
  filterOutput,
  filterOutputWithReport,
  prune,
  pruneWithReport,
} = tamis
