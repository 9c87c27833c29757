import Logging

extension Logger {
    /// A logger that writes nothing, for commands that report problems themselves.
    static var silent: Logger { Logger(label: "sallyport") { _ in SwiftLogNoOpLogHandler() } }
}
