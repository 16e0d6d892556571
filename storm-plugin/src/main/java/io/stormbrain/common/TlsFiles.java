package io.stormbrain.common;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * The PEM files with which plugin and brain know each other. TLS is mutual: each side shows a certificate of an authority
 * in {@value #CA}. Whatever is wrong with the files is told when a connection is made and keeps it from being made: there
 * is no way back to a connection without TLS. Files are read again now and then, so that renewed certificates are taken up.
 */
public final class TlsFiles {
    public static final String CA = "brain.scheduler.tls.ca";
    public static final String CERT = "brain.scheduler.tls.cert";
    public static final String KEY = "brain.scheduler.tls.key";
    public static final String VERIFY_HOST = "brain.scheduler.tls.verify.host";

    private static final long READ_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final Pattern PRIVATE_KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
    private static final List<String> KEY_ALGORITHMS = List.of("RSA", "EC", "Ed25519");

    private final String ca;
    private final String cert;
    private final String key;
    private final boolean verifyHost;
    private SSLContext context;
    private long readAt;

    private TlsFiles(String ca, String cert, String key, boolean verifyHost) {
        this.ca = ca;
        this.cert = cert;
        this.key = key;
        this.verifyHost = verifyHost;
    }

    /** The files that the configuration names, or null where it names none: then there is no TLS. */
    static TlsFiles from(Map<String, Object> conf) {
        String ca = text(conf, CA);
        String cert = text(conf, CERT);
        String key = text(conf, KEY);
        if (ca == null && cert == null && key == null) {
            return null;
        }
        Object verify = conf.get(VERIFY_HOST);
        return new TlsFiles(ca, cert, key, verify == null || !"false".equalsIgnoreCase(verify.toString().trim()));
    }

    /** Whether the brain's certificate must be for the host that was dialled. */
    boolean verifyHost() {
        return verifyHost;
    }

    /**
     * What sockets are made with.
     *
     * @throws IOException naming the key, the file and what is wrong with it
     */
    synchronized SSLContext context() throws IOException {
        if (context == null || System.nanoTime() - readAt > READ_AGAIN_NANOS) {
            context = read();
            readAt = System.nanoTime();
        }
        return context;
    }

    private SSLContext read() throws IOException {
        Collection<? extends Certificate> authorities = certificates(CA, ca);
        Collection<? extends Certificate> chain = certificates(CERT, cert);
        PrivateKey secret = privateKey();
        try {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            int number = 0;
            for (Certificate authority : authorities) {
                trusted.setCertificateEntry("ca-" + number++, authority);
            }
            KeyStore own = KeyStore.getInstance(KeyStore.getDefaultType());
            own.load(null, null);
            char[] none = new char[0];
            own.setKeyEntry("own", secret, none, chain.toArray(new Certificate[0]));
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, none);
            SSLContext made = SSLContext.getInstance("TLS");
            made.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
            return made;
        } catch (GeneralSecurityException e) {
            throw new IOException(CERT + " " + cert + " and " + KEY + " " + key + " cannot be used together: "
                    + e.getMessage(), e);
        }
    }

    private static Collection<? extends Certificate> certificates(String name, String path) throws IOException {
        byte[] pem = bytes(name, path);
        try {
            Collection<? extends Certificate> found =
                    CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem));
            if (found.isEmpty()) {
                throw new IOException(name + ": " + path + " holds no certificate (PEM is expected)");
            }
            return found;
        } catch (CertificateException e) {
            throw new IOException(name + ": " + path + " is no PEM file of certificates: " + e.getMessage(), e);
        }
    }

    private PrivateKey privateKey() throws IOException {
        Matcher found = PRIVATE_KEY.matcher(new String(bytes(KEY, key), StandardCharsets.US_ASCII));
        if (!found.find()) {
            throw new IOException(KEY + ": " + key + " holds no unencrypted PKCS#8 key (\"BEGIN PRIVATE KEY\"): "
                    + "convert it with openssl pkcs8 -topk8 -nocrypt");
        }
        PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1)));
        for (String algorithm : KEY_ALGORITHMS) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(spec);
            } catch (InvalidKeySpecException e) {
                continue; // a key of another algorithm
            } catch (GeneralSecurityException e) {
                throw new IOException(KEY + ": this Java knows no " + algorithm, e);
            }
        }
        throw new IOException(KEY + ": " + key + " holds a key that is none of " + KEY_ALGORITHMS);
    }

    private static byte[] bytes(String name, String path) throws IOException {
        if (path == null) {
            throw new IOException(name + " is not set: " + CA + ", " + CERT + " and " + KEY + " belong together");
        }
        try {
            return Files.readAllBytes(Path.of(path));
        } catch (IOException | RuntimeException e) {
            throw new IOException(name + ": " + path + " cannot be read: " + e, e);
        }
    }

    private static String text(Map<String, Object> conf, String name) {
        Object value = conf.get(name);
        return value == null || value.toString().isBlank() ? null : value.toString().trim();
    }

    @Override
    public String toString() {
        return "mutual, authorities of " + ca;
    }
}
