// The types of the package as a module.
export * from './index.js'
