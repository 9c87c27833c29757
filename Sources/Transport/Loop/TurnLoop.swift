package import NIOCore

/// An event loop that can call objects at the end of a turn. A turn is one pass of the loop.
package protocol TurnLoop: EventLoop {
    /// Calls `task.turnEnded()` when this turn ends, after all events and tasks. Called on the loop.
    func atTurnEnd(_ task: any TurnEndTask)

    /// The executor that runs jobs of Swift tasks on the loop; `nil` if they run on the global executor.
    var taskExecutor: (any TaskExecutor)? { get }
}

/// An object with work for the end of a loop's turn.
package protocol TurnEndTask: AnyObject {
    /// Called once for each call of `TurnLoop.atTurnEnd`.
    func turnEnded()
}
