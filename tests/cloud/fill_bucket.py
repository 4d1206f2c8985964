"""Puts objects into a bucket of $STORAGE_EMULATOR_HOST by Google's own client.

Reads {"bucket", "objects": {name: content in base64}} as JSON, and prints the
generations: {name: generation}.
"""

import base64
import json
import sys

from google.api_core.exceptions import NotFound
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage


def main():
    task = json.load(sys.stdin)
    client = storage.Client(project="forebay",
                            credentials=AnonymousCredentials())
    try:
        bucket = client.get_bucket(task["bucket"])
    except NotFound:
        bucket = client.create_bucket(task["bucket"])
    generations = {}
    for name, content in task["objects"].items():
        blob = bucket.blob(name)
        blob.upload_from_string(base64.b64decode(content),
                                content_type="application/octet-stream")
        generations[name] = int(blob.generation)
    json.dump(generations, sys.stdout)


if __name__ == "__main__":
    main()
