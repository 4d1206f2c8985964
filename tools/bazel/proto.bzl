"""C++ code from .proto files, by Debian's protoc and gRPC plug-in."""

def cc_proto(name, src, deps = [], visibility = None):
    """The messages of one .proto file as a cc_library.

    Args:
      name: the library.
      src: the .proto file; it includes others by their path from the workspace's root.
      deps: cc_proto libraries of the files that it imports.
      visibility: as usual.
    """
    base = src[:-len(".proto")]
    native.genrule(
        name = name + "_protoc",
        srcs = [src] + [dep + "_src" for dep in deps],
        outs = [base + ".pb.h", base + ".pb.cc"],
        cmd = "protoc --proto_path=. --cpp_out=$(GENDIR) $(location %s)" % src,
    )
    native.filegroup(
        name = name + "_src",
        srcs = [src] + [dep + "_src" for dep in deps],
        visibility = visibility,
    )
    native.cc_library(
        name = name,
        srcs = [base + ".pb.cc"],
        hdrs = [base + ".pb.h"],
        copts = ["-Wno-unused-parameter"],
        visibility = visibility,
        deps = deps + ["//tools/bazel:protobuf"],
    )

def cc_grpc(name, src, deps, visibility = None):
    """The gRPC services of one .proto file as a cc_library.

    Args:
      name: the library.
      src: the .proto file.
      deps: the cc_proto library of the same file first, then those of what it imports.
      visibility: as usual.
    """
    base = src[:-len(".proto")]
    native.genrule(
        name = name + "_protoc",
        srcs = [src] + [dep + "_src" for dep in deps],
        outs = [base + ".grpc.pb.h", base + ".grpc.pb.cc"],
        cmd = "protoc --proto_path=. --grpc_out=$(GENDIR) " +
              "--plugin=protoc-gen-grpc=$$(command -v grpc_cpp_plugin) $(location %s)" % src,
    )
    native.cc_library(
        name = name,
        srcs = [base + ".grpc.pb.cc"],
        hdrs = [base + ".grpc.pb.h"],
        copts = ["-Wno-unused-parameter"],
        visibility = visibility,
        deps = deps + ["//tools/bazel:grpc"],
    )
