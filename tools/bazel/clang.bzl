"""A toolchain of Clang, for `--config=fuzz` alone. GCC compiles everything else."""

load("@bazel_tools//tools/cpp:lib_cc_configure.bzl", "get_cpu_value")
load("@bazel_tools//tools/cpp:unix_cc_configure.bzl", "configure_unix_toolchain")

def _clang_toolchain_impl(repository):
    configure_unix_toolchain(
        repository,
        get_cpu_value(repository),
        {"gcc": "/usr/bin/clang-16"},
    )

# A separate crosstool, so that builds with Clang and with GCC do not make each other's results stale.
clang_toolchain = repository_rule(
    implementation = _clang_toolchain_impl,
    configure = True,
)
