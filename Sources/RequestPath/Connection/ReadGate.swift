/// Whether a channel is read: its reads can be held back, and the one that was asked for meanwhile is made up for.
package struct ReadGate: Equatable {
    /// Nothing is read until `resume`.
    package private(set) var isPaused = false
    private var hasPendingRead = false

    /// A channel that is read.
    package init() {}

    /// The channel asks to be read; false: not now.
    package mutating func read() -> Bool {
        if self.isPaused { self.hasPendingRead = true }
        return !self.isPaused
    }

    /// Holds reads back from now on.
    package mutating func pause() {
        self.isPaused = true
    }

    /// Reading goes on; true: the channel had asked to be read.
    package mutating func resume() -> Bool {
        guard self.isPaused else { return false }
        self.isPaused = false
        defer { self.hasPendingRead = false }
        return self.hasPendingRead
    }
}
