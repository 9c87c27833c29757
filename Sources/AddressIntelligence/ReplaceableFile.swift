import Synchronization

/// The content of a file that the operator provides and may replace at any time.
///
/// While `reload` reads the new file, readers use the old content, which is closed when its last reader is done. A read
/// takes a lock for one reference count.
final class ReplaceableFile<Content: Sendable>: Sendable {
    private let load: @Sendable () throws(AddressFileError) -> Content
    private let current: Mutex<Content>
    /// Serialises reloads, so that two at once cannot leave the older content in place.
    private let reloading = Mutex<Void>(())

    /// Reads the file by `load`.
    init(_ load: @escaping @Sendable () throws(AddressFileError) -> Content) throws(AddressFileError) {
        self.load = load
        self.current = Mutex(try load())
    }

    /// What was read last without an error.
    var content: Content { self.current.withLock { $0 } }

    /// Reads the file again. On an error the old content stays.
    func reload() throws(AddressFileError) {
        try self.reloading.withLock { _ throws(AddressFileError) in
            let fresh = try self.load()
            self.current.withLock { $0 = fresh }
        }
    }
}
