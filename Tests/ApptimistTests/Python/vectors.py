"""The published vectors, for cases that use them on a live connection."""

import json
import pathlib

VECTORS = pathlib.Path(__file__).parents[2] / "ApptimistProtocolTests" / "Vectors"



def vectors(name: str) -> dict:
    return json.loads((VECTORS / name).read_text())

