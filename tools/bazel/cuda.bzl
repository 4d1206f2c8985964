"""NVIDIA's CUDA toolkit as it is installed: for `--config=cuda` alone."""

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
    # The program is run by its own path, from which it finds its parts.
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
        # This is an error only when something is compiled with the header, not when a target names
        # it.
        repository.file(
            "include/cuda.h",
            "#error There is no %s: set CUDA_HOME to where CUDA is.\n" % header,
        )

# The toolkit in $CUDA_HOME, or in /usr/local/cuda. A header, nvcc and bin2c of it are used.
cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    configure = True,
    environ = ["CUDA_HOME"],
    local = True,
)
