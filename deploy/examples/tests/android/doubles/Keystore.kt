package android.security.keystore

import java.io.InputStream
import java.io.OutputStream
import java.security.Key
import java.security.KeyStoreSpi
import java.security.Provider
import java.security.SecureRandom
import java.security.cert.Certificate
import java.security.spec.AlgorithmParameterSpec
import java.util.Collections
import java.util.Date
import javax.crypto.KeyGenerator
import javax.crypto.KeyGeneratorSpi
import javax.crypto.SecretKey

object KeyProperties {
    const val PURPOSE_ENCRYPT = 1
    const val PURPOSE_DECRYPT = 2
    const val BLOCK_MODE_GCM = "GCM"
    const val ENCRYPTION_PADDING_NONE = "NoPadding"
}

class KeyGenParameterSpec(val alias: String, val size: Int) : AlgorithmParameterSpec {
    class Builder(private val alias: String, private val purposes: Int) {
        private val form = mutableListOf<String>()
        private var size = 0

        fun setBlockModes(mode: String) = apply { form += mode }

        fun setEncryptionPaddings(padding: String) = apply { form += padding }

        fun setKeySize(size: Int) = apply { this.size = size }

        fun build(): KeyGenParameterSpec {
            check(purposes == 3 && form == listOf("GCM", "NoPadding"))
            return KeyGenParameterSpec(alias, size)
        }
    }
}

/** The provider `AndroidKeyStore`, with keys in memory. */
class Keystore : Provider("AndroidKeyStore", "1", "") {
    init {
        put("KeyStore.AndroidKeyStore", Keys::class.java.name)
        put("KeyGenerator.AES", Generator::class.java.name)
    }

    class Generator : KeyGeneratorSpi() {
        private lateinit var form: KeyGenParameterSpec

        override fun engineInit(random: SecureRandom?) = throw UnsupportedOperationException()

        override fun engineInit(size: Int, random: SecureRandom?) = throw UnsupportedOperationException()

        override fun engineInit(form: AlgorithmParameterSpec?, random: SecureRandom?) {
            this.form = form as KeyGenParameterSpec
        }

        override fun engineGenerateKey(): SecretKey {
            val key = KeyGenerator.getInstance("AES", "SunJCE").apply { init(form.size) }.generateKey()
            keys[form.alias] = key
            return key
        }
    }

    class Keys : KeyStoreSpi() {
        override fun engineLoad(stream: InputStream?, password: CharArray?) {}

        override fun engineGetKey(alias: String, password: CharArray?): Key? = keys[alias]

        override fun engineContainsAlias(alias: String) = alias in keys

        override fun engineIsKeyEntry(alias: String) = alias in keys

        override fun engineSize() = keys.size

        override fun engineAliases() = Collections.enumeration(keys.keys)

        override fun engineDeleteEntry(alias: String) {
            keys.remove(alias)
        }

        override fun engineGetCertificate(alias: String): Certificate? = null

        override fun engineGetCertificateChain(alias: String): Array<Certificate>? = null

        override fun engineGetCertificateAlias(certificate: Certificate?): String? = null

        override fun engineGetCreationDate(alias: String): Date? = null

        override fun engineIsCertificateEntry(alias: String) = false

        override fun engineStore(stream: OutputStream?, password: CharArray?) {}

        override fun engineSetKeyEntry(alias: String, key: Key?, password: CharArray?, chain: Array<Certificate>?) {}

        override fun engineSetKeyEntry(alias: String, key: ByteArray?, chain: Array<Certificate>?) {}

        override fun engineSetCertificateEntry(alias: String, certificate: Certificate?) {}
    }

    companion object {
        val keys: MutableMap<String, SecretKey> = java.util.concurrent.ConcurrentHashMap()
    }
}
