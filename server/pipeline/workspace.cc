#include "server/pipeline/workspace.h"

#include "server/pipeline/workspace_parts.h"

namespace forebay::pipeline {

Workspace::Workspace(const WorkspaceLimits& limits)
    : parts_(std::make_unique<Parts>(limits)) {}

Workspace::~Workspace() = default;

}  // namespace forebay::pipeline
