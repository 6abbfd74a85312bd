"""python sarif.py SCHEMA FILE…: an error where a file is not what the schema says."""

import json
import sys

from jsonschema.validators import validator_for

with open(sys.argv[1]) as file:
    schema = json.load(file)
validator = validator_for(schema)(schema)
for name in sys.argv[2:]:
    with open(name) as file:
        for error in validator.iter_errors(json.load(file)):
            sys.exit(f"{name}: {error.json_path}: {error.message}")
