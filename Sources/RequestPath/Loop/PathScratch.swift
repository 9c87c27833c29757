/// Memory of a loop that is used while a request is judged.
final class PathScratch {
    /// The normalised path, if it differs from the path as received.
    let reading: UnsafeMutableBufferPointer<UInt8>

    init() {
        self.reading = .allocate(capacity: 65_536)
    }

    deinit {
        self.reading.deallocate()
    }
}
