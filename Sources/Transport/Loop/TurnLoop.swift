package import NIOCore

/// An event loop that can call tasks at the end of its turn.
package protocol TurnLoop: EventLoop {
    /// Calls `task.turnEnded()` when this turn ends, after all events and tasks. Called on the loop.
    func atTurnEnd(_ task: any TurnEndTask)

    /// The executor that runs steps of tasks on the loop; `nil` if they run on the shared threads.
    var taskExecutor: (any TaskExecutor)? { get }
}

/// A task for the end of a turn of the loop.
package protocol TurnEndTask: AnyObject {
    /// Called once for each `TurnLoop.atTurnEnd`.
    func turnEnded()
}
