package import NIOCore

/// An event loop that tells when its turn ends.
package protocol TurnLoop: EventLoop {
    /// Calls `task.turnEnded()` when this turn ends, after all events and tasks. Called on the loop.
    func atTurnEnd(_ task: any TurnEndTask)

    /// Runs the steps of tasks on the loop; nil: they run on the threads that all tasks share.
    var taskExecutor: (any TaskExecutor)? { get }
}

/// Something to do when a turn of the loop ends.
package protocol TurnEndTask: AnyObject {
    /// Called once after each `TurnLoop.atTurnEnd`.
    func turnEnded()
}
