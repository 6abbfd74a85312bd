// The page of a comparison from top to bottom.
import { answer } from "./answer";
import { breakdown } from "./breakdown";
import { changes } from "./changes";
import { flames } from "./flames";
import { ranks } from "./ranks";
import { settings } from "./settings";
import type { DiffSection } from "./state";
import { timeline } from "./timeline";

export const SECTIONS: DiffSection[] = [answer, ranks, timeline, breakdown, changes, flames, settings];
