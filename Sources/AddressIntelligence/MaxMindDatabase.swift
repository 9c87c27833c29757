import CMaxMindDB
import Glibc
import Vocabulary

/// A MaxMind database, searched by libmaxminddb.
///
/// libmaxminddb maps a file into memory. If an operator overwrote the mapped file in place (`cp`), the next lookup
/// would end the process with SIGBUS. The library therefore maps a private copy.
final class MaxMindDatabase: Sendable {
    // Written only by `MMDB_open`, before the object is shared. Lookups only read it.
    nonisolated(unsafe) private let handle: UnsafeMutablePointer<MMDB_s>

    /// The build time of the database; `nil` if its metadata has no plausible time.
    let buildTime: UnixTime?

    /// - Parameters:
    ///   - lacking: The error if no useful record is found, as in a database of another kind.
    ///   - isUseful: Returns true if a record has the facts that the caller needs.
    init(
        path: String,
        lacking: AddressFileError,
        where isUseful: (MaxMindValue) -> Bool
    ) throws(AddressFileError) {
        let copy = try MemoryFile(copyOf: path)
        let handle = UnsafeMutablePointer<MMDB_s>.allocate(capacity: 1)
        handle.initialize(to: MMDB_s())
        let status = copy.withPath { MMDB_open($0, UInt32(MMDB_MODE_MMAP), handle) }
        guard status == MMDB_SUCCESS else {
            handle.deallocate()
            throw .invalidDatabase(path: path, detail: String(cString: MMDB_strerror(status)))
        }
        self.handle = handle
        let built = handle.pointee.metadata.build_epoch
        self.buildTime = (1..<Self.year10000).contains(built) ? UnixTime(seconds: Int64(built)) : nil
        guard self.hasRecord(where: isUseful) else { throw lacking }
    }

    deinit {
        MMDB_close(self.handle)
        self.handle.deallocate()
    }

    /// Returns what `body` reads from the record of `address`; `nil` if there is no record or the database is damaged.
    /// The record must not leave `body`.
    func read<Result>(_ address: IPAddress, _ body: (MaxMindValue) -> Result?) -> Result? {
        var status = MMDB_SUCCESS
        let found: MMDB_lookup_result_s
        if let value = address.v4 {
            var socketAddress = sockaddr_in()
            socketAddress.sin_family = sa_family_t(AF_INET)
            socketAddress.sin_addr.s_addr = value.bigEndian
            found = withUnsafeBytes(of: &socketAddress) { self.lookUp($0, &status) }
        } else {
            var socketAddress = sockaddr_in6()
            socketAddress.sin6_family = sa_family_t(AF_INET6)
            withUnsafeMutableBytes(of: &socketAddress.sin6_addr) {
                $0.storeBytes(of: address.bits.bigEndian, as: UInt128.self)
            }
            found = withUnsafeBytes(of: &socketAddress) { self.lookUp($0, &status) }
        }
        guard status == MMDB_SUCCESS, found.found_entry else { return nil }
        return body(self.value(of: found.entry))
    }

    private func lookUp(_ address: UnsafeRawBufferPointer, _ status: inout Int32) -> MMDB_lookup_result_s {
        guard let address = address.assumingMemoryBound(to: sockaddr.self).baseAddress else {
            return MMDB_lookup_result_s()
        }
        return MMDB_lookup_sockaddr(self.handle, address, &status)
    }

    /// Searches the tree for a useful record. The number of steps is limited, because a damaged tree may have cycles.
    private func hasRecord(where isUseful: (MaxMindValue) -> Bool) -> Bool {
        let nodeCount = self.handle.pointee.metadata.node_count
        var pending: [UInt32] = [0]
        for _ in 0..<Self.walkLimit {
            guard let index = pending.popLast() else { return false }
            var node = MMDB_search_node_s()
            guard index < nodeCount, MMDB_read_node(self.handle, index, &node) == MMDB_SUCCESS else { continue }
            let records = [
                (node.right_record_type, node.right_record, node.right_record_entry),
                (node.left_record_type, node.left_record, node.left_record_entry),
            ]
            for (type, record, entry) in records {
                switch Int32(type) {
                case MMDB_RECORD_TYPE_SEARCH_NODE: pending.append(UInt32(truncatingIfNeeded: record))
                case MMDB_RECORD_TYPE_DATA where isUseful(self.value(of: entry)): return true
                default: break
                }
            }
        }
        return false
    }

    private func value(of entry: MMDB_entry_s) -> MaxMindValue {
        let section = UnsafeRawBufferPointer(
            start: self.handle.pointee.data_section,
            count: Int(self.handle.pointee.data_section_size)
        )
        return MaxMindValue(data: MaxMindData(section), offset: Int(entry.offset))
    }

    private static let walkLimit = 65_536
    private static let year10000: UInt64 = 253_402_300_800
}

/// A copy of a database in memory. Its metadata has been checked.
private struct MemoryFile: ~Copyable {
    private let descriptor: Descriptor

    init(copyOf path: String) throws(AddressFileError) {
        let content = try SourceFile.content(of: path)
        if let flaw = content.withUnsafeBytes({ MaxMindData.flaw(inFile: $0) }) {
            throw .invalidDatabase(path: path, detail: flaw)
        }
        let number = memfd_create("addresses.mmdb", MFD_CLOEXEC)
        guard number >= 0 else { throw .unreadable(path: path, code: errno) }
        let descriptor = Descriptor(owning: number)
        var written = 0
        while written < content.count {
            let count = content.withUnsafeBytes {
                write(number, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            if count > 0 {
                written += count
            } else if count == 0 || errno != EINTR {
                throw .unreadable(path: path, code: errno)
            }
        }
        self.descriptor = descriptor
    }

    /// Passes the path to `body`. The path is valid while this value exists.
    func withPath<Result>(_ body: (String) -> Result) -> Result {
        body("/proc/self/fd/\(self.descriptor.number)")
    }
}
