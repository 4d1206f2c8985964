"""A cluster of HDFS on this machine, as its web interface shows it.

We wrote it from the documented interface ("WebHDFS REST API" of Hadoop 3.4). Debian has
no package of Hadoop, which needs Java and gigabytes. The tests also fill and read the
cluster by fsspec's client of WebHDFS, which implements the interface independently of
us. The cluster has a name node, which redirects reads to its data node. Files are in
memory.
"""

import hashlib
import http.server
import json
import threading
import urllib.parse

PREFIX = "/webhdfs/v1"
NOT_FOUND = "FileNotFoundException"


def _crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC32C = _crc32c_table()


def checksum(content):
    """Returns the answer to GETFILECHECKSUM for a file of one block. The checksum is
    the MD5 of the MD5 of the CRC32Cs, one of each 512 bytes."""
    sums = b""
    for begin in range(0, len(content), 512):
        crc = 0xFFFFFFFF
        for byte in content[begin:begin + 512]:
            crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 255]
        sums += (crc ^ 0xFFFFFFFF).to_bytes(4, "big")
    digest = hashlib.md5(hashlib.md5(sums).digest()).hexdigest()
    return {"FileChecksum": {"algorithm": "MD5-of-0MD5-of-512CRC32C",
                             "bytes": f"{512:08x}{0:016x}{digest}", "length": 28}}


class _File:
    def __init__(self, number, content=b""):
        self.number = number
        self.modified = 1_700_000_000_000 + number
        self.content = content


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: "FakeHdfs"  # set by subclasses

    def log_message(self, *_):
        pass

    def _answer(self, status, body=b"", kind="application/json", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status, exception, message):
        self._answer(status, {"RemoteException": {
            "exception": exception, "javaClassName": f"java.io.{exception}",
            "message": message}})

    def _asked(self):
        """Returns the path, and the first value of each field of the query."""
        target = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(target.query, keep_blank_values=True)
        path = urllib.parse.unquote(target.path)[len(PREFIX):].rstrip("/")
        return path, {name: values[0] for name, values in query.items()}

    def _serve(self):
        path, query = self._asked()
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with self.cluster.lock:
            self.cluster.asked.append((query.get("op"), path, query))
            self._do(query.get("op"), path, query, body)

    do_GET = do_PUT = do_POST = _serve

    def _do(self, op, path, query, body):
        raise NotImplementedError


class _NameNode(_Handler):

    def _do(self, op, path, query, body):
        cluster = self.cluster
        if cluster.token and query.get("delegation") != cluster.token:
            return self._refuse(401, "SecurityException", "Who are you?")
        if path in cluster.forbidden:
            return self._refuse(403, "AccessControlException",
                                f"Permission denied: {path}")
        if op in ("OPEN", "CREATE", "APPEND", "GETFILECHECKSUM"):
            if op != "CREATE" and path not in cluster.files:
                return self._refuse(404, NOT_FOUND, path)
            offset = int(query.get("offset", 0))
            size = len(cluster.files[path].content) if op == "OPEN" else 0
            if offset > max(size, 1) - 1:
                return self._refuse(
                    403, "IOException",
                    f"Offset={offset} out of the range [0, {size}); OPEN")
            place = cluster.data_url + self.path + "&namenoderpcaddress=nn:8020"
            return self._answer(307, Location=place)
        if op == "GETFILESTATUS":
            status = cluster.status(path)
            return (self._answer(200, {"FileStatus": status}) if status else
                    self._refuse(404, NOT_FOUND, path))
        if op == "LISTSTATUS" or op == "LISTSTATUS_BATCH" and cluster.batches:
            return self._list(op, path, query)
        return self._refuse(400, "IllegalArgumentException",
                            f"Invalid value for webhdfs parameter \"op\": {op}")

    def _list(self, op, path, query):
        if not self.cluster.status(path):
            return self._refuse(404, NOT_FOUND, path)
        found = self.cluster.entries(path)
        if op == "LISTSTATUS":
            return self._answer(200, {"FileStatuses": {"FileStatus": found}})
        after = query.get("startAfter", "").encode()
        found = [entry for entry in found
                 if not after or entry["pathSuffix"].encode() > after]
        part = found[:self.cluster.batches]
        return self._answer(200, {"DirectoryListing": {
            "partialListing": {"FileStatuses": {"FileStatus": part}},
            "remainingEntries": len(found) - len(part)}})


class _DataNode(_Handler):

    def _do(self, op, path, query, body):
        cluster = self.cluster
        if op in ("CREATE", "APPEND"):
            old = cluster.files[path].content if op == "APPEND" else b""
            cluster.put(path, old + body)
            return self._answer(201 if op == "CREATE" else 200)
        if path not in cluster.files:
            return self._refuse(404, NOT_FOUND, path)
        if op == "GETFILECHECKSUM":
            return self._answer(200, checksum(cluster.files[path].content))
        begin = int(query.get("offset", 0))
        end = begin + int(query.get("length", 1 << 60))
        return self._answer(200, cluster.files[path].content[begin:end],
                            "application/octet-stream")


class FakeHdfs:
    """A running cluster; a context manager.

    Attributes:
      authority: "host:port" of the name node's web server.
      data_url: the URL of the data node's web server.
      files: dict by absolute path; hold `lock` to use it.
      forbidden: set of paths that nobody may read.
      token: the delegation token that all requests need; "": they need none.
      numbers: whether statuses tell the files' numbers; if not, all files have the same
        time.
      batches: the most entries of one part of a folder's list; 0: lists come whole, as
        from an old server.
      asked: list of (op, path, query) of all requests.
    """

    def __init__(self):
        self.lock = threading.RLock()
        self.files, self.forbidden, self.asked = {}, set(), []
        self.token, self.batches, self.numbers = "", 3, True
        self._last_number = 16_385
        self._servers = [http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Node", (node,), {"cluster": self}))
            for node in (_NameNode, _DataNode)]
        self.authority, data = (f"127.0.0.1:{server.server_port}"
                                for server in self._servers)
        self.data_url = f"http://{data}"
        self._threads = [threading.Thread(target=server.serve_forever)
                         for server in self._servers]
        for thread in self._threads:
            thread.start()

    def put(self, path, content):
        """Writes a file, which gets a new number."""
        with self.lock:
            self._last_number += 1
            self.files[path] = _File(self._last_number, content)

    def status(self, path, name=""):
        """Returns the status of a path; None if there is no such path."""
        if path in self.files:
            file = self.files[path]
            status = {"pathSuffix": name, "type": "FILE", "fileId": file.number,
                      "length": len(file.content), "permission": "644",
                      "modificationTime": file.modified, "owner": "somebody",
                      "replication": 3, "blockSize": 134217728}
            if not self.numbers:
                del status["fileId"]
                status["modificationTime"] = 1_700_000_000_000
            return status
        if any(one.startswith(path + "/") for one in self.files):
            return {"pathSuffix": name, "type": "DIRECTORY", "fileId": 16_385,
                    "length": 0, "modificationTime": 0, "permission": "755",
                    "owner": "somebody", "replication": 0, "blockSize": 0}
        return None

    def entries(self, path):
        """Returns the statuses of a folder's entries. For a file, returns its own
        status."""
        if path in self.files:
            return [self.status(path)]
        names = {one[len(path) + 1:].partition("/")[0] for one in self.files
                 if one.startswith(path + "/")}
        return [self.status(f"{path}/{name}", name)
                for name in sorted(names, key=str.encode)]

    def close(self):
        """Ends the nodes."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
