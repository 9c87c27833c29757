import Glibc

/// An open file descriptor that is closed when the value is destroyed.
struct Descriptor: ~Copyable {
    let number: Int32

    init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(self.number)
    }
}

/// Reads the operator's files with facts about addresses.
enum SourceFile {
    /// The size limit in bytes. Every known ASN database is far smaller.
    static let sizeLimit = 1 << 30

    /// Returns the whole content of a regular file.
    static func content(of path: String) throws(AddressFileError) -> [UInt8] {
        // Without O_NONBLOCK, opening a named pipe would block forever.
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw .unreadable(path: path, code: errno) }
        defer { close(number) }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .unreadable(path: path, code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        guard status.st_size <= Self.sizeLimit else { throw .tooLarge(path: path, limit: Self.sizeLimit) }
        var content: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(number, buffer.baseAddress, buffer.count)
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw .unreadable(path: path, code: errno)
            }
            guard count > 0 else { return content }
            content.append(contentsOf: buffer[..<count])
            guard content.count <= Self.sizeLimit else { throw .tooLarge(path: path, limit: Self.sizeLimit) }
        }
    }
}
