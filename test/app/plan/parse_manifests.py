#!/usr/bin/env python3
"""parse_manifests.py FOLDER: parses every NAME.yaml there and compares its MODEL with the bytes of NAME.model."""

import pathlib
import re
import sys

import yaml


def models_of_compose(document):
    return [
        service["environment"]["MODEL"].replace("$$", "$")
        for service in document["services"].values()
        if "environment" in service
    ]


def expanded(value):
    """As Kubernetes' third_party/forked/golang/expansion does where no variable is known."""
    return re.sub(r"\$\$", "$", value)


def models_of_kubernetes(documents):
    found = []
    for document in documents:
        stack = [document]
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                if value.get("name") == "MODEL":
                    found.append(expanded(value["value"]))
                stack.extend(value.values())
            elif isinstance(value, list):
                stack.extend(value)
    return found


def main(folder):
    wrong = 0
    for file in sorted(pathlib.Path(folder).glob("*.yaml")):
        expected = file.with_suffix(".model").read_bytes()
        try:
            documents = [d for d in yaml.safe_load_all(file.read_bytes()) if d is not None]
            compose = "services" in documents[0]
            models = models_of_compose(documents[0]) if compose else models_of_kubernetes(documents)
            try:
                good = models and all(model == expected.decode() for model in models)
            except UnicodeDecodeError:
                good = models and all("\N{REPLACEMENT CHARACTER}" in model for model in models)
        except (yaml.YAMLError, KeyError, TypeError) as error:
            good, models = False, error
        if not good:
            print(f"{file.name}: expected {expected!r}, got {models}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
