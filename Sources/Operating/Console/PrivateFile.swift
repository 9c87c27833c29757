import ArgumentParser
import Glibc

/// A file of secrets could not be created, read or changed.
struct PrivateFileFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Runs the work of a command. Prints a `PrivateFileFailure` to standard error and ends with exit status 1.
    static func reported(_ work: () throws -> Void) throws {
        do {
            try work()
        } catch let failure as PrivateFileFailure {
            throw Console.failure(failure.description)
        }
    }

    /// Returns a failure with the system's message for `errno`.
    static func system(_ what: String) -> PrivateFileFailure {
        PrivateFileFailure("\(what): \(String(cString: strerror(errno)))")
    }
}

/// A locked file whose content is replaced atomically. Only one program at a time can change the file, and readers find
/// either the old or the new content, even after a crash. The lock lasts until this value is destroyed.
struct PrivateFile: ~Copyable {
    /// The path with all links resolved. A link is therefore never replaced by a file.
    private let path: String
    private let descriptor: Int32
    private let status: stat

    /// Opens and locks the file at `path`.
    init(at path: String) throws(PrivateFileFailure) {
        guard let resolved = realpath(path, nil) else { throw .system(path) }
        defer { free(resolved) }
        let place = String(cString: resolved)
        let (descriptor, status) = try Self.lock(place)
        self.path = place
        self.descriptor = descriptor
        self.status = status
    }

    private static func lock(_ path: String) throws(PrivateFileFailure) -> (descriptor: Int32, status: stat) {
        while true {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { throw .system(path) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let isBusy = errno == EWOULDBLOCK
                let failure = PrivateFileFailure.system("\(path) cannot be locked")
                close(descriptor)
                throw isBusy ? PrivateFileFailure("\(path): another program is changing it") : failure
            }
            var (opened, current) = (stat(), stat())
            guard fstat(descriptor, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                throw PrivateFileFailure("\(path) is not a file")
            }
            // The file may have been replaced between `open` and `flock`. Then the lock is on the old file: try again.
            if stat(path, &current) == 0, current.st_ino == opened.st_ino, current.st_dev == opened.st_dev {
                return (descriptor, opened)
            }
            close(descriptor)
        }
    }

    deinit {
        close(self.descriptor)
    }

    /// Returns the content. Throws if the file has more than `limit` bytes.
    func read(limit: Int) throws(PrivateFileFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count < bytes.count {
            let result = bytes.withUnsafeMutableBytes {
                pread(self.descriptor, $0.baseAddress.map { $0 + count }, $0.count - count, off_t(count))
            }
            guard result >= 0 else { throw .system("\(self.path) cannot be read") }
            if result == 0 { return Array(bytes[..<count]) }
            count += result
        }
        throw PrivateFileFailure("\(self.path) has more than \(limit) bytes")
    }

    /// Replaces the content. The owner and mode stay the same.
    func replace(with bytes: [UInt8]) throws(PrivateFileFailure) {
        let draft = "\(self.path).\(getpid()).new"
        let copy = try Self.write(bytes, to: draft)
        defer { close(copy) }
        do throws(PrivateFileFailure) {
            // A gateway that runs as another user must still be able to read it.
            var now = stat()
            let owned =
                fstat(copy, &now) == 0
                && (now.st_uid == self.status.st_uid && now.st_gid == self.status.st_gid
                    || fchown(copy, self.status.st_uid, self.status.st_gid) == 0)
            guard owned else { throw .system("\(draft) cannot have the owner of \(self.path)") }
            guard fchmod(copy, self.status.st_mode & 0o777) == 0 else {
                throw .system("\(draft) cannot have the mode of \(self.path)")
            }
            guard rename(draft, self.path) == 0 else { throw .system("\(self.path) cannot be replaced") }
        } catch {
            unlink(draft)
            throw error
        }
        Self.sync(directoryOf: self.path)
    }

    /// Creates a file with this mode. Throws if the file exists.
    static func make(at path: String, with bytes: [UInt8], mode: mode_t = 0o600) throws(PrivateFileFailure) {
        close(try Self.write(bytes, to: path, mode: mode))
        Self.sync(directoryOf: path)
    }

    /// Creates a file with this mode, and waits until its content is on disk. The caller closes the descriptor.
    private static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: mode_t = 0o600
    ) throws(PrivateFileFailure) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw PrivateFileFailure("\(path) exists already and is not overwritten") }
            throw .system(path)
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        guard rest.isEmpty, fsync(descriptor) == 0 else {
            let failure = PrivateFileFailure.system("\(path) cannot be written")
            close(descriptor)
            unlink(path)
            throw failure
        }
        return descriptor
    }

    /// Flushes the directory, so that a new name survives a crash. Some file systems cannot flush directories, so
    /// failures are ignored.
    private static func sync(directoryOf path: String) {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
