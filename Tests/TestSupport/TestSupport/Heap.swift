import CLinux

/// The memory of this process that was taken by `malloc`.
package enum Heap {
    /// The bytes that were taken and not freed, in all arenas, and blocks of their own.
    package static var bytesInUse: Int {
        let info = mallinfo2()
        return Int(info.uordblks) + Int(info.hblkhd)
    }
}
