// The package as a module.
import tamis from './index.cjs'

// Only here: adapters are modules, which `require` of Node 20 cannot load.
export { filterTool } from './adapters/function.mjs'

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
