"""C++ code from .proto files, by Debian's protoc, its gRPC plugin, and the plugin in tools/protoc."""

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
      name: the library. The cc_proto library of the same file must be in the same package.
      src: the .proto file.
      deps: cc_message libraries of the files that the file imports; `x_message` belongs to x.proto.
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

def cc_ops(name, domain, namespace, result, function, argument, header, deps, visibility = None):
    """NAME.h: a function for each kind of op of one domain, and a function that chooses among them.

    Args:
      name: the library.
      domain: of OpTraits, in proto/op_options.proto.
      namespace: of the functions.
      result: the functions' result.
      function: the functions' name. The function that chooses is named after it: AddAny for Add.
      argument: the functions' parameter behind the op: its type and its name.
      header: the header that declares these types, by its path from the workspace's root.
      deps: the library of the header.
      visibility: as usual.
    """
    plugin = "//tools/protoc:protoc-gen-message"
    path = native.package_name() + "/" + name + ".h"
    values = {
        "argument": argument,
        "domain": domain,
        "function": function,
        "header": header,
        "namespace": namespace,
        "path": path,
        "result": result,
    }
    native.genrule(
        name = name + "_protoc",
        srcs = ["//proto:job_src"],
        outs = [name + ".h"],
        cmd = "protoc --proto_path=. --message_out=$(GENDIR) " +
              "--message_opt='%s' " % ";".join([k + "=" + v for k, v in values.items()]) +
              "--plugin=$(location %s) proto/job.proto" % plugin,
        tools = [plugin, "//tools/protoc:modules"],
    )
    native.cc_library(
        name = name,
        hdrs = [name + ".h"],
        visibility = visibility,
        deps = deps + ["//proto:job"],
    )

def cc_grpc(name, src, deps, visibility = None):
    """The gRPC services of one .proto file as a cc_library.

    Args:
      name: the library.
      src: the .proto file.
      deps: first the cc_proto library of the same file, then the cc_proto libraries of its imports.
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
