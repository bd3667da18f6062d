/** Is a folder of testdata a case of the model? `wire` holds recordings instead. */
export const isGoldenCase = (folder: string): boolean => folder !== 'wire';
