"""NVIDIA's CUDA toolkit as it is installed: for `--config=cuda` alone."""

_BUILD = """
cc_library(
    name = "driver_api",
    hdrs = ["include/cuda.h"],
    includes = ["include"],
    visibility = ["//cuda:__pkg__", "//tests:__subpackages__"],
)
"""

def _cuda_toolkit_impl(repository):
    folder = repository.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    header = folder + "/include/cuda.h"
    repository.file("BUILD.bazel", _BUILD.replace("//", "@forebay//"))
    if repository.path(header).exists:
        repository.symlink(header, "include/cuda.h")
    else:
        # Said when something is compiled with it, not when it is merely named.
        repository.file(
            "include/cuda.h",
            "#error There is no %s: set CUDA_HOME to where CUDA is.\n" % header,
        )

# $CUDA_HOME, else /usr/local/cuda. Its headers are all that is used.
cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    configure = True,
    environ = ["CUDA_HOME"],
    local = True,
)
