import Logging

extension Logger {
    /// For commands that say themselves what is wrong.
    static var silent: Logger { Logger(label: "sallyport") { _ in SwiftLogNoOpLogHandler() } }
}
