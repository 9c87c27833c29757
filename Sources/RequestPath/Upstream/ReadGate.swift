/// Pauses the reads of a channel. A read that is requested during a pause is done when reading resumes.
package struct ReadGate: Equatable {
    /// Whether nothing is read until `resume`.
    package private(set) var isPaused = false
    private var hasPendingRead = false

    /// Reading is not paused.
    package init() {}

    /// Records that the channel requests a read. False: reading is paused.
    package mutating func read() -> Bool {
        if self.isPaused { self.hasPendingRead = true }
        return !self.isPaused
    }

    /// Pauses reads from now on.
    package mutating func pause() {
        self.isPaused = true
    }

    /// Resumes reading. True: a read was requested during the pause.
    package mutating func resume() -> Bool {
        guard self.isPaused else { return false }
        self.isPaused = false
        defer { self.hasPendingRead = false }
        return self.hasPendingRead
    }
}
