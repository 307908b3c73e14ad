// Joins parts that do not know each other: the job table's view of the library and of the uploads.
#pragma once

#include <memory>

#include "library/job_records.h"
#include "library/takes.h"
#include "server/jobs/job_store.h"
#include "server/jobs/uploaded_sounds.h"
#include "server/uploads.h"

namespace continuo::server {

/// Records jobs and files takes in the library's database. added: called on the pool with each new take.
std::unique_ptr<JobStore> store_in_library(library::TakeLibrary& takes, library::JobRecords& records,
                                           std::function<void(const library::Take&)> added);

std::unique_ptr<UploadedSounds> sounds_of(Uploads& uploads);

double seconds_since_1970();

}  // namespace continuo::server
