/// The scratch memory of one event loop, for reading one path at a time.
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
