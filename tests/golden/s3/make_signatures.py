#!/usr/bin/python3
"""Makes signatures.json from AWS's test suite of its Signature Version 4.

Run it with the path of a checkout of github.com/awslabs/aws-c-auth, whose
tests/aws-signing-test-suite/v4 is the suite; it writes beside itself. A case has
the request as it goes over the wire, with its path and query escaped as the suite
says that they are signed, and what the suite expects: the canonical request, and
the header Authorization.
"""

import json
import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
UNRESERVED = "-_.~"


def escaped(query):
    """The query as a client writes it, in the order in which it was."""
    fields = []
    for field in filter(None, query.split("&")):
        name, _, value = field.partition("=")
        fields.append("=".join(
            urllib.parse.quote(urllib.parse.unquote(part), safe=UNRESERVED)
            for part in (name, value)))
    return "&".join(fields)


def headers_of(text):
    """Pairs of a signed request's headers; a line that begins with a blank goes
    on with the value before."""
    found = []
    for line in text.partition("\n\n")[0].splitlines()[1:]:
        if line[0] in " \t":
            found[-1][1] += " " + line.strip()
        else:
            name, _, value = line.partition(":")
            found.append([name.lower(), value])
    return found


def case(folder):
    canonical = (folder / "header-canonical-request.txt").read_text()
    signed = (folder / "header-signed-request.txt").read_text()
    target = (folder / "request.txt").read_text().splitlines()[0].split(" ", 1)[1]
    context = json.loads((folder / "context.json").read_text())
    names = canonical.splitlines()[-2].split(";")
    headers = headers_of(signed)
    return {
        "name": folder.name,
        "method": canonical.splitlines()[0],
        "path": canonical.splitlines()[1],
        "query": escaped(target.rpartition(" ")[0].partition("?")[2]),
        "headers": [pair for pair in headers if pair[0] in names],
        "body_sha256": canonical.splitlines()[-1],
        "canonical": canonical,
        "key_id": context["credentials"]["access_key_id"],
        "secret": context["credentials"]["secret_access_key"],
        "authorization": dict(headers)["authorization"],
    }


def main():
    suite = pathlib.Path(sys.argv[1]) / "tests/aws-signing-test-suite/v4"
    cases = [case(folder) for folder in sorted(suite.iterdir())]
    (HERE / "signatures.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
