"""Clang beside the compiler of what ships: for `--config=fuzz` alone."""

load("@bazel_tools//tools/cpp:lib_cc_configure.bzl", "get_cpu_value")
load("@bazel_tools//tools/cpp:unix_cc_configure.bzl", "configure_unix_toolchain")

def _clang_toolchain_impl(repository):
    configure_unix_toolchain(
        repository,
        get_cpu_value(repository),
        {"gcc": "/usr/bin/clang-16"},
    )

# A crosstool of its own, so that neither build makes the other's results stale.
clang_toolchain = repository_rule(
    implementation = _clang_toolchain_impl,
    configure = True,
)
