// The glue that wasm-bindgen writes, as build_browser.mjs puts it into the worker.
declare module "whyoom-engine" {
  import type { Engine } from "./engine";
  export const initSync: Engine["initSync"];
  export const Inquiry: Engine["Inquiry"];
  export const Comparison: Engine["Comparison"];
}
