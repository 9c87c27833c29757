import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// How many descriptors the process of the tests may have.
package enum DescriptorLimit {
    /// Raises it as far as is allowed: a shell allows fewer than a test with thousands of connections needs.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return }  // RLIMIT_NOFILE
        limit.rlim_cur = min(limit.rlim_max, 65_536)
        _ = setrlimit(__rlimit_resource_t(7), &limit)
    }
}
