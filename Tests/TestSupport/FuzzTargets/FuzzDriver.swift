#if canImport(Glibc)
import Glibc
#endif

/// One run over some bytes, as C sees it.
package typealias FuzzRun = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

package typealias ArgumentVector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// Starts libFuzzer. SwiftPM has every program begin at a symbol of its own and not at the runtime's `main`.
package enum FuzzDriver {
    private typealias Driver =
        @convention(c) (UnsafeMutablePointer<CInt>, UnsafeMutablePointer<ArgumentVector>, FuzzRun) -> CInt

    /// - Returns: the exit status; 2 when the program lacks the runtime.
    package static func run(_ count: CInt, _ arguments: ArgumentVector, _ body: FuzzRun) -> CInt {
        // Only the programs are linked with the runtime, and not the tests that share their targets: hence by name.
        guard let symbol = dlsym(nil, "LLVMFuzzerRunDriver") else { return 2 }
        var count = count
        var arguments = arguments
        return unsafeBitCast(symbol, to: Driver.self)(&count, &arguments, body)
    }
}
