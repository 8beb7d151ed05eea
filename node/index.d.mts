// The types of the package as a module.
export * from './index.js'
export { filterTool, type FilterToolOptions } from './adapters/function.mjs'
