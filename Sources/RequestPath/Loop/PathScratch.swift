/// Buffers that judging uses and leaves empty.
final class PathScratch {
    /// The reading of a path that is not its own.
    let reading: UnsafeMutableBufferPointer<UInt8>

    init() {
        self.reading = .allocate(capacity: 65_536)
    }

    deinit {
        self.reading.deallocate()
    }
}
