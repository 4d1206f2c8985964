"""C++ code from .proto files, by Debian's protoc with its gRPC plugin and the project's own."""

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

def cc_message(name, src, deps = [], visibility = None):
    """The messages of one .proto file as structs, for programs that do not link protobuf.

    Args:
      name: the library; it needs the cc_proto library of the file to be in the same package.
      src: the .proto file.
      deps: cc_message libraries of the files that it imports; `x_message` is that of x.proto.
      visibility: as usual.
    """
    base = src[:-len(".proto")]
    plugin = "//tools/protoc:protoc-gen-message"
    native.genrule(
        name = name + "_protoc",
        srcs = [":" + base + "_src"],
        outs = [base + ".message.h", base + ".message.cc"],
        cmd = "protoc --proto_path=. --message_out=$(GENDIR) " +
              "--plugin=$(location %s) %s/%s" % (plugin, native.package_name(), src),
        tools = [plugin, "//tools/protoc:modules"],
    )
    native.cc_library(
        name = name,
        srcs = [base + ".message.cc"],
        hdrs = [base + ".message.h"],
        visibility = visibility,
        deps = deps + ["//tools/bazel:protozero"],
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
