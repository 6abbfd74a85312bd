// The page from top to bottom. A new section is one file here and one line in this table.
import type { Section } from "../page";
import { fit } from "./fit";
import { growth } from "./growth";
import { map } from "./map";
import { modules } from "./modules";
import { peak } from "./peak";
import { processes } from "./processes";
import { timeline } from "./timeline";
import { verdict } from "./verdict";
import { whatIf } from "./whatif";

export const SECTIONS: Section[] = [verdict, timeline, map, peak, modules, growth, whatIf, fit, processes];
