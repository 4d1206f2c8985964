"""Packs a wheel. Its file name depends on its content, so the output is a folder with the wheel alone."""

def _wheel_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    inputs = ctx.files.srcs
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = ["-B", ctx.file.builder.path, "--output", folder.path] +
                    [file.path for file in inputs],
        inputs = inputs + [ctx.file.builder],
        outputs = [folder],
        mnemonic = "Wheel",
        progress_message = "Packing %s" % ctx.label,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([folder]))]

wheel = rule(
    implementation = _wheel_impl,
    attrs = {
        "builder": attr.label(allow_single_file = True, mandatory = True),
        "srcs": attr.label_list(allow_files = True, mandatory = True),
    },
)
