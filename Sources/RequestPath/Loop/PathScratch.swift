/// Memory that is used while a request is judged.
final class PathScratch {
    /// Holds the normalised path where it differs from the path as it came.
    let reading: UnsafeMutableBufferPointer<UInt8>

    init() {
        self.reading = .allocate(capacity: 65_536)
    }

    deinit {
        self.reading.deallocate()
    }
}
