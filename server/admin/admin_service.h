#ifndef FOREBAY_SERVER_ADMIN_ADMIN_SERVICE_H_
#define FOREBAY_SERVER_ADMIN_ADMIN_SERVICE_H_

#include <memory>

#include "server/admin/subjects.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace forebay::admin {

// Returns the gRPC service of admin.proto. The service passes each call to the
// other rooms, and translates the result. Thread-safe. The caller owns it; the
// subjects outlive it. A call blocks while its client is slow to read. Errors
// are those of job::Introspection and job::Control, and RESOURCE_EXHAUSTED if a
// third batch is asked for while two are being copied out.
std::unique_ptr<grpc::Service> NewAdminService(Subjects subjects);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_ADMIN_SERVICE_H_
