#pragma once
#include <maxminddb.h>

// The database is opened from a copy in memory. glibc declares this for _GNU_SOURCE only, which Swift does not define.
extern int memfd_create(const char *name, unsigned int flags);
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x0001U
#endif
