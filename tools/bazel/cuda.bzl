"""The CUDA toolkit that is installed on this host, for `--config=cuda` alone."""

_BUILD = """
USERS = [
    "@forebay//cuda:__subpackages__",
    "@forebay//tests:__subpackages__",
]

cc_library(
    name = "driver_api",
    hdrs = ["include/cuda.h"],
    includes = ["include"],
    visibility = USERS,
)

exports_files(["nvcc", "bin2c"], visibility = ["//visibility:public"])
"""

def _program(repository, folder, name):
    # A script runs the program by its own path, because from that path it finds its other files.
    repository.file(name, "#!/bin/sh\nexec '%s/bin/%s' \"$@\"\n" % (folder, name))

def _cuda_toolkit_impl(repository):
    folder = repository.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    header = folder + "/include/cuda.h"
    repository.file("BUILD.bazel", _BUILD)
    _program(repository, folder, "nvcc")
    _program(repository, folder, "bin2c")
    if repository.path(header).exists:
        repository.symlink(header, "include/cuda.h")
    else:
        # This header is an error only for a compilation that includes it, not for a target that
        # names it.
        repository.file(
            "include/cuda.h",
            "#error There is no %s: set CUDA_HOME to where CUDA is.\n" % header,
        )

# The toolkit in $CUDA_HOME or, if that is not set, in /usr/local/cuda. The build uses its cuda.h,
# nvcc and bin2c.
cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    configure = True,
    environ = ["CUDA_HOME"],
    local = True,
)
