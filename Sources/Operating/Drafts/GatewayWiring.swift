package import ArgumentParser
package import NIOCore
package import Sessions
package import Settings
package import Vocabulary

/// How a gateway's parts are put together, for commands that look at these parts without starting a gateway. The
/// executable has the wiring and hands it to each command that needs it.
package struct GatewayWiring: Sendable {
    /// Assembles the gateway of these settings, or throws a `StartRefusal` with the message of a start.
    let draft: @Sendable (LoadedSettings) throws -> Draft
    /// Makes the store of these settings. It connects when it is started.
    let backing: @Sendable (StoreSettings, ProcessKeys, any EventLoopGroup) throws -> any StoreBacking

    package init(
        draft: @escaping @Sendable (LoadedSettings) throws -> Draft,
        backing: @escaping @Sendable (StoreSettings, ProcessKeys, any EventLoopGroup) throws -> any StoreBacking
    ) {
        self.draft = draft
        self.backing = backing
    }
}

/// A command that looks at the parts of a gateway.
package protocol WiredCommand: ParsableCommand {
    /// Does the work of the command.
    func run(with wiring: GatewayWiring) async throws
}

/// The place where a process keeps sessions and all other records. It opens and closes the store that it holds.
package protocol StoreBacking: Sendable {
    /// The store of the records.
    var store: any RecordStore { get }
    /// The clock for the lifetimes of the records.
    var clock: Clock { get }

    /// Starts to connect. A store that cannot be reached is tried again and again.
    func start() async throws
    /// Closes the store. No request uses it any more.
    func stop() async
}
