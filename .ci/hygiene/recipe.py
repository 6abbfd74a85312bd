"""Parses and renders a conda recipe as rattler-build does, without building it."""

import sys
from pathlib import Path

from rattler_build import RattlerBuildError, RenderConfig, Stage0Recipe, VariantConfig

recipe, variants = map(Path, sys.argv[1:])
try:
    rendered = Stage0Recipe.from_file(recipe).render(VariantConfig.from_file(variants), RenderConfig())
except RattlerBuildError as error:
    sys.exit(f"{recipe}: {error}")
if not rendered:
    sys.exit(f"{recipe}: makes no package")
for one in rendered:
    package = one.recipe.package
    print(f"{recipe}: {package.name} {package.version}")
