import Glibc
import Synchronization

/// Reads the files that settings name: from the file system in production, from memory in tests.
package struct SettingsFiles: Sendable {
    /// The reason why a file cannot be read, e.g. `no such file`.
    package struct Fault: Error, Equatable, Sendable {
        package static let absent = Fault("no such file")
        static let unreadable = Fault("a file that this user may not read")

        package let sentence: String

        package init(_ sentence: String) {
            self.sentence = sentence
        }
    }

    /// Returns the content of a file. Throws if the file cannot be read or has more than `limit` bytes.
    let read: @Sendable (_ path: String, _ limit: Int) throws(Fault) -> [UInt8]
    /// Whether a file can be opened.
    let isReadable: @Sendable (_ path: String) -> Bool
    /// Whether every user of the machine can read a file.
    package let isOpenToAll: @Sendable (_ path: String) -> Bool
    /// The owner and permissions of a file; `nil` if the file does not exist or is not examined.
    let standing: @Sendable (_ path: String) -> FilePermissions?
    /// The reason why no connection to a socket is possible; `nil` if it is possible or not examined.
    let socketFault: @Sendable (_ path: String) -> SocketFault?

    package init(
        read: @escaping @Sendable (_ path: String, _ limit: Int) throws(Fault) -> [UInt8],
        isReadable: @escaping @Sendable (_ path: String) -> Bool,
        isOpenToAll: @escaping @Sendable (_ path: String) -> Bool = { _ in false },
        standing: @escaping @Sendable (_ path: String) -> FilePermissions? = { _ in nil },
        socketFault: @escaping @Sendable (_ path: String) -> SocketFault? = { _ in nil }
    ) {
        self.read = read
        self.isReadable = isReadable
        self.isOpenToAll = isOpenToAll
        self.standing = standing
        self.socketFault = socketFault
    }

    /// The files of the file system.
    package static let system = SettingsFiles(
        read: { path, limit throws(Fault) in
            guard let mode = Self.mode(of: path) else { throw .absent }
            guard mode & S_IFMT != S_IFDIR else { throw Fault("a directory") }
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .unreadable }
            defer { close(descriptor) }
            guard let bytes = Self.bytes(of: descriptor, atMost: limit + 1) else {
                throw Fault("a file that cannot be read")
            }
            guard bytes.count <= limit else { throw Fault("a file of more than \(Quantity.text(bytes: limit))") }
            return bytes
        },
        isReadable: { path in
            guard let mode = Self.mode(of: path) else { return false }
            return mode & S_IFMT != S_IFDIR && access(path, R_OK) == 0
        },
        isOpenToAll: { path in
            func others(_ path: String) -> mode_t { (Self.mode(of: path) ?? 0) & 0o007 }
            guard others(path) & 0o004 != 0, let real = realpath(path, nil) else { return false }
            defer { free(real) }
            // Other users cannot reach a file in a directory that they may not search.
            let folders = String(cString: real).split(separator: "/").dropLast()
            return folders.indices.allSatisfy { others("/" + folders[...$0].joined(separator: "/")) & 0o001 != 0 }
        },
        standing: FilePermissions.init,
        socketFault: { path in
            guard let mode = Self.mode(of: path) else { return errno == EACCES ? .closed : .absent }
            guard mode & S_IFMT == S_IFSOCK else { return .otherKind }
            return access(path, W_OK) == 0 ? nil : .closed
        }
    )

    /// Whether the path exists, readable or not, as a file or directory.
    func isThere(_ path: String) -> Bool {
        if self.isReadable(path) { return true }
        do throws(Fault) {
            _ = try self.read(path, 1)
            return true
        } catch {
            return error != .absent
        }
    }

    /// Returns the type and permissions of a file; `nil`, with the reason in `errno`, if they cannot be read.
    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode : nil
    }

    /// Returns the first bytes of a file; `nil` if the file cannot be read.
    package static func bytes(ofFile path: String, atMost count: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return self.bytes(of: descriptor, atMost: count)
    }

    /// Returns up to `count` bytes from an open file; `nil` if reading fails.
    package static func bytes(of descriptor: CInt, atMost count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let room = min(count - bytes.count, 1 << 16)
            var result = 0
            bytes += [UInt8](unsafeUninitializedCapacity: room) { piece, filled in
                result = Glibc.read(descriptor, piece.baseAddress, room)
                filled = max(result, 0)
            }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { return nil }
            if result == 0 { break }
        }
        return bytes
    }

    /// Returns a reader with an additional file: the content `bytes` at the path `added`.
    func adding(_ bytes: [UInt8], at added: String) -> SettingsFiles {
        let (read, isReadable) = (self.read, self.isReadable)
        return SettingsFiles(
            read: { path, limit throws(Fault) in path == added ? bytes : try read(path, limit) },
            isReadable: { $0 == added || isReadable($0) },
            isOpenToAll: self.isOpenToAll,
            standing: self.standing,
            socketFault: self.socketFault
        )
    }

    /// Returns a reader that reads each path once and repeats the first result.
    func remembered() -> SettingsFiles {
        let (read, isReadable) = (self.read, self.isReadable)
        let known = Remembered()
        return SettingsFiles(
            read: { path, limit throws(Fault) in
                let former = known.state.withLock { $0.contents[path] }
                let answer = former ?? Result { () throws(Fault) in try read(path, limit) }
                known.state.withLock { $0.contents[path] = answer }
                return try answer.get()
            },
            isReadable: { path in
                let former = known.state.withLock { $0.readable[path] }
                let answer = former ?? isReadable(path)
                known.state.withLock { $0.readable[path] = answer }
                return answer
            },
            isOpenToAll: self.isOpenToAll,
            standing: self.standing,
            socketFault: self.socketFault
        )
    }

    private final class Remembered: Sendable {
        struct State: Sendable {
            var contents: [String: Result<[UInt8], Fault>] = [:]
            var readable: [String: Bool] = [:]
        }

        let state = Mutex(State())
    }
}

/// Identifies a version of a file. Links are followed, because Kubernetes updates a file by replacing a link.
package struct FileMark: Sendable, Equatable {
    private let device: UInt
    private let inode: UInt
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    /// Reads the current version of a file; `nil` if the file does not exist.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.device = UInt(status.st_dev)
        self.inode = UInt(status.st_ino)
        self.size = Int(status.st_size)
        self.seconds = status.st_mtim.tv_sec
        self.nanoseconds = status.st_mtim.tv_nsec
    }
}

/// The reason why no connection to a socket is possible.
package enum SocketFault: Sendable {
    case absent
    /// The path leads to a file or directory that is not a socket.
    case otherKind
    /// The user of this process may not connect.
    case closed
}

/// The owner and permissions of a file.
package struct FilePermissions: Sendable, Equatable, CustomStringConvertible {
    /// The permission bits, as `chmod` sets them.
    package let mode: UInt32
    package let owner: UInt32
    package let group: UInt32
    /// Whether the user of this process owns the file.
    package let isOwn: Bool

    package init(mode: UInt32, owner: UInt32, group: UInt32, isOwn: Bool) {
        self.mode = mode
        self.owner = owner
        self.group = group
        self.isOwn = isOwn
    }

    /// Reads the owner and permissions of a file; `nil` if the file does not exist.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(
            mode: UInt32(status.st_mode) & 0o7777,
            owner: status.st_uid,
            group: status.st_gid,
            isOwn: status.st_uid == geteuid()
        )
    }

    /// Whether users other than the gateway's can access the file. If root or another user owns the file, its group may
    /// have access: Kubernetes mounts secrets this way (`fsGroup`).
    package var isExposed: Bool { self.mode & (self.isOwn && self.owner != 0 ? 0o077 : 0o007) != 0 }

    /// The owner and permissions for messages: `mode 0644, owner 0:0`.
    package var description: String {
        let octal = String(self.mode, radix: 8)
        return
            "mode \(String(repeating: "0", count: max(4 - octal.utf8.count, 0)))\(octal), owner \(self.owner):\(self.group)"
    }

    /// The user and group of this process, e.g. `65532:65532`.
    package static var user: String { "\(geteuid()):\(getegid())" }
}
