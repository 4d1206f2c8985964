#ifndef FOREBAY_SERVER_ADMIN_ADMIN_SERVICE_H_
#define FOREBAY_SERVER_ADMIN_ADMIN_SERVICE_H_

#include <memory>

#include "server/admin/subjects.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace forebay::admin {

// The gRPC service of admin.proto: asks, translates and answers. Thread-safe.
// What it is given must outlive it; the caller owns it. A call blocks while its
// client is slow to read, and at most two batches are copied out at a time
// (RESOURCE_EXHAUSTED for a third). Errors are those of job::Introspection and
// job::Control.
std::unique_ptr<grpc::Service> NewAdminService(Subjects subjects);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_ADMIN_SERVICE_H_
