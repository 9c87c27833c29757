import Glibc

/// The file with the process id of a running gateway.
package enum PIDFile {
    /// Creates an empty file. `write` adds the process id later, when the process handles signals. Throws if the file
    /// names a gateway that is still running, or cannot be created.
    package static func claim(_ path: String) throws {
        if let former = self.process(in: path), former != getpid(), self.isGateway(former) {
            throw PrivateFileFailure("\(path): a gateway with process id \(former) is already running")
        }
        unlink(path)
        try PrivateFile.make(at: path, with: [], mode: 0o644)
    }

    /// Replaces the file of `claim` by one with this process's id.
    package static func write(to path: String) throws {
        unlink(path)
        try PrivateFile.make(at: path, with: Array("\(getpid())\n".utf8), mode: 0o644)
    }

    /// Returns the process id in a file.
    static func read(_ path: String) throws -> Int32 {
        guard let process = self.process(in: path) else {
            throw Console.failure("\(path) contains no process id: its gateway has ended or is still starting")
        }
        return process
    }

    /// Removes the file, unless another process replaced it.
    package static func release(_ path: String) {
        guard let text = Console.readToken(path) else { return }
        if text.isEmpty || self.process(in: path) == getpid() { unlink(path) }
    }

    private static func process(in path: String) -> Int32? {
        let text = Console.readToken(path).map { String(decoding: $0, as: UTF8.self) }
        return text.flatMap { Int32($0) }.flatMap { $0 >= 1 ? $0 : nil }
    }

    /// True if the process runs a program with this program's file name. Signals must not reach an unrelated process
    /// that reuses the id.
    static func isGateway(_ process: Int32) -> Bool {
        guard process >= 1 else { return false }
        func program(_ process: String) -> String? {
            var path = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/\(process)/exe", &path, path.count)
            guard count > 0 else { return nil }
            let text = String(decoding: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // Linux appends this if an upgrade has replaced the program's file.
            let mark = " (deleted)"
            return text.hasSuffix(mark) ? String(text.dropLast(mark.count)) : text
        }
        guard let own = program("self"), let other = program("\(process)") else { return false }
        func name(_ path: String) -> Substring { path.split(separator: "/").last ?? "" }
        return own == other || name(own) == name(other)
    }
}
