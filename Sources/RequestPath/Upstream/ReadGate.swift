/// Pauses the reads of a channel. A read that is requested during a pause happens when reading resumes.
package struct ReadGate: Equatable {
    /// Whether reads wait for `resume()`.
    package private(set) var isPaused = false
    private var hasPendingRead = false

    /// Creates a gate that lets reads pass.
    package init() {}

    /// Records that the channel requests a read. Returns false if reading is paused.
    package mutating func read() -> Bool {
        if self.isPaused { self.hasPendingRead = true }
        return !self.isPaused
    }

    /// Pauses reads.
    package mutating func pause() {
        self.isPaused = true
    }

    /// Resumes reading. Returns true if a read was requested during the pause.
    package mutating func resume() -> Bool {
        guard self.isPaused else { return false }
        self.isPaused = false
        defer { self.hasPendingRead = false }
        return self.hasPendingRead
    }
}
